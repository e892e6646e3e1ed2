/** The page of the system quotes. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { systemMessages } from '../index.ts'

export default function QuotesPage() {
  return <BuildingPage title={useMessages(systemMessages)['/cotacoes/']} />
}
