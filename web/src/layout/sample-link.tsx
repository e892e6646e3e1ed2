/** Leads from an empty page to a system whose page starts a sample with one button. Shown to those who may start work. */
import { FlaskConical } from 'lucide-react'
import { useLocation } from 'wouter'
import { useCan, useSession } from '../api/session.ts'
import { Button } from '../components/button.tsx'
import { useMessages } from '../i18n/messages.ts'
import { isSystemPath, type SystemPath, systemMessages } from '../systems/index.ts'
import { shellMessages } from './messages.ts'

/** The systems with a sample of many jobs first. */
const preferred: readonly SystemPath[] = ['/classificador/', '/cotacoes/', '/snaps/', '/documentos/', '/planejador/']

export function SampleLink() {
  const words = useMessages(shellMessages)
  const names = useMessages(systemMessages)
  const [, navigate] = useLocation()
  const mayAct = useCan('operator')
  const { data: session } = useSession()
  const pages = (session?.systems ?? []).map(({ page }) => page).filter(isSystemPath)
  const path = preferred.find(each => pages.includes(each))
  if (!mayAct || path === undefined) return null
  return (
    <Button icon={FlaskConical} onClick={() => navigate(path)}>
      {words.sample(names[path])}
    </Button>
  )
}
