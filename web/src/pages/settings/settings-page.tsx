/** The settings and the findings of the doctor. */
import { useMessages } from '../../i18n/messages.ts'
import { BuildingPage } from '../../layout/building-page.tsx'
import { shellMessages } from '../../layout/messages.ts'

export default function SettingsPage() {
  return <BuildingPage title={useMessages(shellMessages).settings} />
}
