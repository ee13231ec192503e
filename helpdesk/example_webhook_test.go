package helpdesk_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/helpwright/helpwright/helpdesk/subscription"
	"github.com/helpwright/helpwright/storage"
)

// Another application hears of every new conversation; package webhook delivers.
func ExampleWebhooks_Create() {
	ctx := context.Background()
	_, desk, _ := exampleDesk(ctx)
	hook, secret, err := desk.Webhooks().Create(ctx, subscription.WebhookInput{
		URL: storage.Some("https://app.example.org/hooks"), Events: storage.Some([]string{"conversation.created"}),
	})
	fmt.Println(hook.IsActive, strings.HasPrefix(secret, subscription.WebhookSecretPrefix), err)
	// Output: true true <nil>
}
