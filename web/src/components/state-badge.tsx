/** The state of a job, a batch or anything of a system, with its icon, its colour and its word in the language of the dashboard. */
import {
  Ban,
  CircleCheck,
  CircleDashed,
  CircleDot,
  CirclePause,
  CircleSlash,
  CircleX,
  ClockAlert,
  type LucideIcon,
  OctagonAlert,
  TriangleAlert,
  Upload,
} from 'lucide-react'
import { useMessages } from '../i18n/messages.ts'
import { stateMessages } from '../i18n/states.ts'
import { Badge, type Tone } from './badge.tsx'

export type StateName = keyof (typeof stateMessages)['en']

export const stateLooks: Readonly<Record<StateName, { tone: Tone; icon: LucideIcon }>> = {
  waiting: { tone: 'idle', icon: CircleDashed },
  ready: { tone: 'idle', icon: CircleDashed },
  scheduled: { tone: 'idle', icon: ClockAlert },
  submitting: { tone: 'busy', icon: Upload },
  running: { tone: 'busy', icon: CircleDot },
  paused: { tone: 'accent', icon: CirclePause },
  stalled: { tone: 'warn', icon: OctagonAlert },
  succeeded: { tone: 'good', icon: CircleCheck },
  completed_with_failures: { tone: 'warn', icon: TriangleAlert },
  failed: { tone: 'bad', icon: CircleX },
  skipped: { tone: 'idle', icon: CircleSlash },
  cancelled: { tone: 'idle', icon: Ban },
}

const isStateName = (state: string): state is StateName => state in stateLooks

/** A state that the dashboard does not know is shown as it is. */
export function StateBadge({ state, title }: { state: string; title?: string }) {
  const words = useMessages(stateMessages)
  const more = title === undefined ? {} : { title }
  if (!isStateName(state)) return <Badge {...more}>{state}</Badge>
  const { tone, icon } = stateLooks[state]
  return (
    <Badge tone={tone} icon={icon} {...more}>
      {words[state]}
    </Badge>
  )
}
