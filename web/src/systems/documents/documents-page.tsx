/** The pages of the documents: PDFs, one document, and the bank accounts of Open Finance. */
import { Route, Switch, useLocation } from 'wouter'
import { Tabs } from '../../components/tabs.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { NotFound } from '../../layout/not-found.tsx'
import { PageHeader } from '../../layout/page-header.tsx'
import { BankPage } from './bank-page.tsx'
import { DocumentList } from './document-list.tsx'
import { DocumentPage } from './document-page.tsx'
import { documentMessages } from './messages.ts'
import { paths } from './paths.ts'

export default function DocumentsPage() {
  return (
    <Switch>
      <Route path={paths.home}>
        <Home tab="documents" />
      </Route>
      <Route path={paths.bank}>
        <Home tab="bank" />
      </Route>
      <Route path="/documentos/:id">{({ id }) => <DocumentPage key={id} id={id} />}</Route>
      <Route>
        <NotFound />
      </Route>
    </Switch>
  )
}

function Home({ tab }: { tab: 'documents' | 'bank' }) {
  const words = useMessages(documentMessages)
  const [, navigate] = useLocation()
  return (
    <>
      <PageHeader title={words.title} subtitle={words.subtitle} />
      <Tabs
        label={words.title}
        tabs={[
          { id: 'documents', label: words.documents },
          { id: 'bank', label: words.bank },
        ]}
        selected={tab}
        onSelect={id => navigate(id === 'bank' ? paths.bank : paths.home)}
      >
        {tab === 'bank' ? <BankPage /> : <DocumentList />}
      </Tabs>
    </>
  )
}
