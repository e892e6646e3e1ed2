/** The addresses of the quotes: the list, and one quote. */
import { Route, Switch } from 'wouter'
import { QuoteList } from './quote-list.tsx'
import { QuoteView } from './quote-view.tsx'

export default function QuotesPage() {
  return (
    <Switch>
      <Route path="/cotacoes/:id">{({ id }) => <QuoteView id={id} />}</Route>
      <Route>
        <QuoteList />
      </Route>
    </Switch>
  )
}
