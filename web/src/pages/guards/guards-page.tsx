/** The guards. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function GuardsPage() {
  return <BuildingPage title={useMessages(shellMessages).guards} />
}
