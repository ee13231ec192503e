package desk

import (
	"github.com/helpwright/helpwright/helpdesk/report"
)

// helpCentrePanels shows what readers of help centres did.
func (rv *reportVisit) helpCentrePanels(view *reportsView) error {
	out, err := rv.get(report.HelpCentre, rv.period.byTime())
	if err != nil {
		return err
	}
	for _, key := range []string{"views", "searches", "contacts", "deflection"} {
		view.Tiles = append(view.Tiles, rv.figure(out, measureIndex(out, key)))
	}
	searches := rv.timePanel(panelOf{
		name: report.HelpCentre, title: say("Searches"), columns: []string{"searches", "unanswered"}, whole: true,
		hint: say("Helped without a message: searches that led to an article, less the messages that were written all the same. Nobody is followed from page to page, so it is rather too low."),
	}, out)
	views := rv.timePanel(panelOf{name: report.HelpCentre, title: say("Articles viewed"), columns: []string{"views"}, whole: true}, out)
	searches.ID, views.ID = "searches", "views"
	sites, err := rv.sites()
	if len(sites) > 0 {
		searches.More = Link{Text: rv.words.T("What readers asked"), URL: rv.at("/help")}
	}
	if len(sites) == 1 {
		searches.More.URL += "/" + itoa(sites[0].ID) + "/feedback/searches"
	}
	view.Panels = append(view.Panels, searches, views)
	return err
}
