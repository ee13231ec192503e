package search

import "strings"

// stopWords are words of questions that say nothing about what is asked, by language, as terms. Words that may matter, such
// as "not", "off" and "without", are not among them.
var stopWords = map[string]map[string]bool{
	"en": listed(`a about am an and any are as at be been being but by can cannot cant could couldnt did didnt do does doesnt doing dont
		for from had has have having he help her here hers him his how hows i id if ill im in into is isnt it its ive let lets like may me
		might mine must my myself need of or our ours please really shall she should so some such thanks that thats the their them then there
		theres these they this those to too us very want wanted wants was wasnt we were what whats when where wheres which while who whom
		whose why will with wont would you your yours get got am there just tell know possible way hello hi dear hey`),
	"de": listed(`aber alle allem allen aller alles als also am an auch auf aus bei beim bin bist bitte da dabei damit dann das dass dein
		deine deinem deinen deiner dem den denn der des dich die dies diese diesem diesen dieser dieses dir doch dort du durch ein eine
		einem einen einer eines er es etwas euch eure fuer fur gibt haben habe hat hatte hallo hier ich ihm ihn ihnen ihr ihre ihrem ihren
		ihrer ihres im in ins ist ja jetzt kann kannst konnen koennen konnte koennte lasst lass liebe machen mache mal man mein meine meinem
		meinen meiner meines mich mir mit mochte moechte muss musst mussen muessen nach noch nun nur ob oder sein seine seit sich sie sind so
		soll sollte tun um und uns unser unsere vom von vor wann war warum was welche welchem welchen welcher welches wenn wer werde werden wie
		wieso will wir wird wo woher wohin wurde zu zum zur geht gehen hilfe`),
	"fr": listed(`a ai alors as au aux avec avoir bonjour c ca car ce cela ces cet cette ceux chez combien comme comment d dans de des dois
		doit donc du elle elles en est et etre eu faire fait faut il ils j je l la le les leur leurs lui m ma mais me mes moi mon n ne nos
		notre nous on ou par peut peux plus pour pourquoi puis quand que quel quelle quelles quels qu qui quoi s sa se ses si son sont sur svp
		t ta te tes toi ton tu un une veux vos votre vous y`),
	"es": listed(`a al algo ante asi aunque cada como con cual cuales cuando cuanto de debo del desde donde e el ella ellas ellos en
		entre era es esa ese eso esta estan estar estas este esto estoy favor fue ha hace hacer hago han hasta hay hola la las le les lo los
		mas me mi mis mucho muy nos nosotros o os para pero poder por porque puede puedes puedo que quien quiero se ser si sin sobre
		son soy su sus tan te tengo ti tiene todo tu tus un una unas uno unos usted y ya yo`),
	"it": listed(`a ad ai al alla alle allo anche avere c che chi ci ciao come con cosa cui d da dal dalla de degli dei del della delle
		devo di dove e ed era essere fa fare gli ha ho i il in io l la le lei li lo loro lui ma me mi mia mie miei mio ne nei nel nella
		noi o per perche piu posso puo qual quale quali quando quanto quello questa queste questi questo qui se sei si sono su sua sue suoi
		sul sulla suo ti tu tua tuo un una uno vi voglio voi`),
	"pt": listed(`a ao aos as ate com como da das de dela dele devo do dos e ela elas ele em entre era essa esse esta estao estar este
		estou eu fazer foi ha isso isto ja la lhe mais mas me meu meus minha minhas muito na nas no nos nossa nosso o oi ola onde os ou para
		pela pelo pode podem por porque posso qual quais quando quanto que quem quero se ser seu seus sobre sou sua suas
		tem tenho ter teu tu tua um uma umas uns voce voces`),
	"nl": listed(`aan al alle als ben bij dan dat de der deze die dit doe doen door dus een en er ga gaat graag had hallo heb hebben heeft
		het hier hij hoe hun ik in is ja je jij jou jouw jullie kan kunnen kun maar me mee men met mij mijn moet moeten mogen na naar nog nu
		of om omdat ons onze ook op over te tot u uit uw van veel voor waar waarom wanneer want was wat we welk welke wel wie wil wij worden
		wordt zal ze zich zij zijn zo`),
	"sv": listed(`alla att av behover da de dem den denna det detta din dina ditt du eller en ett finns for fran gor gora ha han har hej hon
		hur i in inom ja jag kan med min mina mitt mig man maste nar och om oss pa sa sig ska som till var vad vara varfor vi vill vilken
		vilka vilket ar er ett`),
	"da": listed(`af alle at da de dem den der det dette dig din dine du eller en er et for fra gor gore ha han har hej hun hvad hvem hvilken
		hvilke hvor hvordan hvorfor hvornar i jeg kan man med mig min mine mit ma og om os pa sa sig skal som til var vi vil vores`),
	"nb": listed(`alle at av da de deg dem den der det dette din dine du eller en er et for fra gjor gjore ha han har hei hun hva hvem
		hvilken hvilke hvor hvordan hvorfor i jeg kan man med meg min mine mitt ma nar og om oss pa sa seg skal som til var vi vil`),
	"ru": listed(`а без бы был была были было быть в вам вас ваш вот все вы где да для до его ее если есть еще же за здравствуите и из или
		им их к как какая какие какои когда кто ли мне могу можно мои моя мое мы на надо нам нас наш не него нее них но нужно о об он она
		они оно от по под почему при с свои себя сколько со так там то того тоже только ты у уже хочу чем что чтобы эта эти это этот я`),
	"pl": listed(`a aby ale bo byc byl byla bylo ci czy dla do gdzie go i ich ile ja jak jaka jaki jakie jako je jego jej jest jestem
		juz kiedy ktora ktore ktory ku lub ma mam mi mnie moge mozna moj moja moje musze na nie o od on ona one oni oraz po pod prosze przez
		przy sa sie swoj ta tak tam te tego ten to tu ty u w we z za ze zeby`),
	"tr": listed(`ama ben beni benim bir biz bu bunu cok da daha de diye en gibi icin ile ise ki mi mu nasil ne neden nerede nereden nicin o
		olan olarak sen siz su var ve veya ya yok`),
	"ar": listed(`اريد اذا الى التي الذي ان انا او اي اين بعد به بين تم ثم حتى حيث عن على عليه عند في فيه قبل قد كان كانت كل كم كيف لا لكن
		لم لماذا له لها لي ليس ما ماذا متى مع من منذ منه نحن هذا هذه هل هنا هناك هو هي و وما يا يمكن يمكنني استطيع الي علي متي حتي`),
	"he": listed(`אבל או אותו אותי אז אחרי אי איך איפה אל אם אני את אתה אתם במה בשביל גם הוא היא הם זה זאת יש כי כל כמה לא לי למה לפני לך מה
		מי מתי על עם צריך רוצה של שלי שלך אפשר`),
}

func listed(words string) map[string]bool {
	all := map[string]bool{}
	for _, w := range strings.Fields(words) {
		all[w] = true
	}
	return all
}

// Stops reports whether a term is a word that says nothing about what a question in a language is about.
func Stops(language, term string) bool { return stopWords[language][term] }
