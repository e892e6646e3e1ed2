/** The page of the system snaps. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { systemMessages } from '../index.ts'

export default function SnapsPage() {
  return <BuildingPage title={useMessages(systemMessages)['/snaps/']} />
}
