/** The workers. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function WorkersPage() {
  return <BuildingPage title={useMessages(shellMessages).workers} />
}
