/** The page of the system planner. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { systemMessages } from '../index.ts'

export default function PlannerPage() {
  return <BuildingPage title={useMessages(systemMessages)['/planejador/']} />
}
