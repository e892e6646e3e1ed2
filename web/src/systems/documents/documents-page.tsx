/** The page of the system documents. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { systemMessages } from '../index.ts'

export default function DocumentsPage() {
  return <BuildingPage title={useMessages(systemMessages)['/documentos/']} />
}
