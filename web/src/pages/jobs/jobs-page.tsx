/** The search for jobs. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function JobsPage() {
  return <BuildingPage title={useMessages(shellMessages).jobs} />
}
