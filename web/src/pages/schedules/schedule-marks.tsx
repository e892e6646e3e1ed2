/** Marks of a schedule that does not fire: a person paused the schedule, or no live process declares the schedule. */
import { CircleOff, CirclePause } from 'lucide-react'
import { Badge } from '../../components/badge.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { schedulesMessages } from './messages.ts'
import type { Schedule } from './schedule-actions.tsx'

export function ScheduleMarks({ schedule: { active, paused } }: { schedule: Schedule }) {
  const words = useMessages(schedulesMessages)
  return (
    <>
      {paused && (
        <Badge tone="accent" icon={CirclePause} title={words.pausedHint}>
          {words.paused}
        </Badge>
      )}
      {!active && (
        <Badge tone="warn" icon={CircleOff} title={words.inactiveHint}>
          {words.inactive}
        </Badge>
      )}
    </>
  )
}
