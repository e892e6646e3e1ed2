/** Marks data that no real service answered, because there is no key. */
import { FlaskConical } from 'lucide-react'
import { useMessages } from '../i18n/messages.ts'
import { Badge } from './badge.tsx'
import { componentMessages } from './messages.ts'

export function SimulatedMark({ names = [] }: { names?: readonly string[] }) {
  const words = useMessages(componentMessages)
  return (
    <Badge
      tone="accent"
      icon={FlaskConical}
      {...(names.length > 0 ? { title: words.simulatedHint(names.join(', ')) } : {})}
    >
      {words.simulated}
    </Badge>
  )
}
