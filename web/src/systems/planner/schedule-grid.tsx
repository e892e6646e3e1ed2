/** A schedule as a grid: a row for each person, a column for each day. */
import { Card } from '../../components/card.tsx'
import { Sentence } from '../../components/sentence.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { classes } from '../../lib/classes.ts'
import { CoverChart } from './cover-chart.tsx'
import { plannerMessages } from './messages.ts'
import type { Schedule } from './results.ts'

/** Noon, so that no time zone moves the day. */
const instantOf = (date: string) => new Date(`${date}T12:00:00`)

/** One look for each shift, so that a row of a person reads at a glance; the name is in the cell too. */
const looks = [
  'bg-busy-soft text-busy',
  'bg-warn-soft text-warn',
  'bg-accent-soft text-accent',
  'bg-good-soft text-good',
  'bg-idle-soft text-idle',
] as const

export function ScheduleGrid({ schedule }: { schedule: Schedule }) {
  const words = useMessages(plannerMessages)
  const format = useFormat()
  const days = [...new Set(schedule.assignments.map(each => each.date))].sort()
  const weekday = new Intl.DateTimeFormat(format.language, { weekday: 'short', day: 'numeric' })
  // In the order of the day: the assignments of a day are sorted by the start of their shift.
  const shiftNames = [...new Set(schedule.assignments.map(each => each.shift))]
  const shiftsOf = (person: string, date: string) =>
    schedule.assignments.filter(each => each.person === person && each.date === date).map(each => each.shift)
  return (
    <>
      <Sentence
        kind={schedule.status === 'optimal' ? 'good' : 'info'}
        hint={words.solved(format.duration(schedule.seconds * 1000))}
      >
        {schedule.status === 'optimal' ? words.optimal : words.feasible(format.percent(schedule.gap_percent, 1))}
      </Sentence>
      {schedule.shortages.length > 0 && (
        <Card title={words.shortages(schedule.shortages.length)}>
          <ul class="flex flex-col gap-1">
            {schedule.shortages.map(each =>
              'person' in each ? (
                <li key={`${each.person} ${each.week_of}`}>
                  {words.missingHours(each.person, format.number(each.missing), format.date(instantOf(each.week_of)))}
                </li>
              ) : (
                <li key={`${each.date} ${each.shift} ${each.hour} ${each.skill}`}>
                  {words.missing(
                    each.missing,
                    [
                      format.date(instantOf(each.date)),
                      each.shift ?? (each.hour === null ? null : `${each.hour} h`),
                      each.skill,
                    ]
                      .filter(part => part !== null)
                      .join(', '),
                  )}
                </li>
              ),
            )}
          </ul>
        </Card>
      )}
      {schedule.cover !== undefined && <CoverChart cover={schedule.cover} />}
      <Card title={words.grid} flush>
        <div class="overflow-x-auto" tabIndex={0} role="region" aria-label={words.grid}>
          <table class="w-full text-left">
            <thead>
              <tr class="border-b text-sm text-muted">
                <th scope="col" class="h-9 px-4 font-medium">
                  {words.person}
                </th>
                {days.map(day => (
                  <th key={day} scope="col" class="px-2 font-medium whitespace-nowrap">
                    {weekday.format(instantOf(day))}
                  </th>
                ))}
                <th scope="col" class="px-2 text-right font-medium">
                  {words.hours}
                </th>
                <th scope="col" class="px-4 text-right font-medium">
                  {words.nights}
                </th>
              </tr>
            </thead>
            <tbody>
              {schedule.people.map(({ person, hours, nights }) => (
                <tr key={person} class="border-b last:border-b-0">
                  <th scope="row" class="h-10 px-4 font-medium whitespace-nowrap">
                    {person}
                  </th>
                  {days.map(day => (
                    <td key={day} class="px-1">
                      {shiftsOf(person, day).map(shift => (
                        <span
                          key={shift}
                          class={classes(
                            'mr-1 inline-block rounded-sm px-1.5 text-sm font-medium whitespace-nowrap',
                            looks[shiftNames.indexOf(shift) % looks.length],
                          )}
                        >
                          {shift}
                        </span>
                      ))}
                    </td>
                  ))}
                  <td class="px-2 text-right">{format.number(hours)}</td>
                  <td class="px-4 text-right">{format.number(nights)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
    </>
  )
}
