/** The providers. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function ProvidersPage() {
  return <BuildingPage title={useMessages(shellMessages).providers} />
}
