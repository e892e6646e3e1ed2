/** The page of the system classifier. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { systemMessages } from '../index.ts'

export default function ClassifierPage() {
  return <BuildingPage title={useMessages(systemMessages)['/classificador/']} />
}
