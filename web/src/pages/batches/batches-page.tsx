/** The list of batches. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function BatchesPage() {
  return <BuildingPage title={useMessages(shellMessages).batches} />
}
