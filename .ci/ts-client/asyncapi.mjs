// Reads the AsyncAPI document of the events with the project's own parser, which checks it, and counts what is in it.
import { readFile } from 'node:fs/promises'
import { Parser } from '@asyncapi/parser'

const text = await readFile('../../transport/api/asyncapi.json', 'utf8')
const { document, diagnostics } = await new Parser().parse(text)
const errors = diagnostics.filter((d) => d.severity === 0)
for (const e of errors.slice(0, 10)) console.error(`${e.path.join('.')}: ${e.message}`)
const messages = document?.allMessages().all().length ?? 0
if (errors.length > 0 || messages < 100) {
  console.error(`asyncapi.json: ${errors.length} errors, ${messages} messages`)
  process.exit(1)
}
