package helpdesk

import "testing"

func TestTongue(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"Hello, I have a question about my order. Could you please help me with this?":  "en",
		"Hallo, ich habe eine Frage zu meiner Bestellung. Können Sie mir bitte helfen?": "de",
		"Bonjour, je n'ai pas reçu ma commande. Pouvez-vous m'aider ? Merci à vous":     "fr",
		"Hola, no he recibido el pedido. ¿Me puede ayudar con esto por favor? Gracias":  "es",
		"Olá, não recebi a minha encomenda. Pode ajudar-me? Obrigado, bom dia":          "pt",
		"Buongiorno, non ho ricevuto il mio ordine. Mi può aiutare? Grazie e saluti":    "it",
		"Hallo, ik heb een vraag over het pakket, maar ik kan niet inloggen. Dank u":    "nl",
		"Dzień dobry, nie mam mojej paczki. Czy jest jak to sprawdzić? Dziękuję":        "pl",
		"注文した商品がまだ届いていません。確認をお願いします。":                                                   "ja",
		"我的包裹还没有到，请帮我查一下":                                                               "zh",
		"مرحبا، لم يصلني الطلب بعد":                                                     "ar",
		"Здравствуйте, мой заказ не пришёл":                                             "ru",
		"order 1234":                            "",
		"":                                      "",
		"Ada Lovelace\nAnalytical Engines Ltd.": "",
	} {
		if got := tongue(text); got != want {
			t.Errorf("%q: %q, not %q", text, got, want)
		}
	}
}
