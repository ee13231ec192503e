package desk

import (
	"github.com/helpwright/helpwright/storage/fault"
	"github.com/helpwright/helpwright/transport/errand"
)

// exportView is the page of the export of the account.
type exportView struct {
	Begin string // address that begins one
	Run   *errandView
	Days  int // how long the file stays
}

func (v *visit) exportPage() error {
	view := exportView{Begin: v.at("/settings/export"), Days: int(v.h.cfg.Errands.Keep().Hours() / 24)}
	e, err := v.h.cfg.Errands.Find(v.ctx(), v.AccountID(), ErrandExport)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	if err == nil {
		run := v.exportState(e)
		view.Run = &run
	}
	return v.showErrand("settings-export", v.words.T("Account export"), view, 0)
}

func (v *visit) exportState(e errand.Errand) errandView {
	w := v.words
	action := v.at("/settings/export/" + e.ID)
	view := v.errandView(e, action, w.T("Exporting"), w.T("Export finished"))
	if view.Total = 0; view.Done > 0 {
		view.Sum = w.T("Records: %s. Files: %s", w.whole(view.Done), bytesText(e.Progress.Bytes))
	}
	view.About = w.T("Started %s", v.when(e.Created))
	if e.State == errand.Done {
		view.File, view.Size = action+"/file", bytesText(e.Size)
		view.Notes = e.Report.Notes
		if n := e.Report.N("missing_files"); n > 0 {
			view.Reason = w.T("Files missing on the server: %s", w.whole(n))
		}
	}
	view.Delete, view.Gone = w.T("Delete export"), w.T("The file is deleted from the server.")
	return view
}

func (v *visit) startExport() error {
	err := v.Account().StartExport(v.ctx())
	if err == nil {
		_, err = v.h.cfg.Errands.Begin(v.ctx(), errand.Order{AccountID: v.AccountID(), UserID: v.UserID(), Kind: ErrandExport})
	}
	if err != nil {
		return v.instead(err, v.at("/settings/export"))
	}
	return v.see(v.at("/settings/export"))
}

func (v *visit) actOnExport() error {
	e, err := v.errandOf(ErrandExport)
	if err != nil {
		return v.instead(err, v.at("/settings/export"))
	}
	return v.actOn(e, v.r.PathValue("act"), v.words.T("Export deleted"))
}

func (v *visit) exportFile() error {
	e, err := v.errandOf(ErrandExport)
	if err != nil {
		return err
	}
	if e.State != errand.Done {
		return v.missing()
	}
	return v.download(e, errand.Result, "application/zstd", "account-"+itoa(v.AccountID())+".tar.zst")
}
