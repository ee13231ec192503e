package helpdesk

import "github.com/helpwright/helpwright/storage"

type noBlobs struct{ storage.Blobs }

type noSealer struct{ storage.Sealer }
