package outbound_test
import ("testing";"context";"github.com/helpwright/helpwright/helpdesk";"github.com/helpwright/helpwright/storage")
func TestScratch(t *testing.T){
 w:=newWorld(t)
 must[helpdesk.Mailbox](t)(w.desk.UpdateMailbox(context.Background(), w.box.ID, helpdesk.MailboxInput{Email: storage.Some("x@bücher.example")}))
 i:=w.answer(helpdesk.InteractionInput{Body:"x"})
 t.Log(w.handle(w.sender(&taken{})), i.MessageID); t.Logf("%+v", w.deliveries(i))
}
