/** Demand as a table of weekday and hour, each cell with its number and a tint by its share of the largest. */
import { Card } from '../../components/card.tsx'
import { useFormat } from '../../i18n/format.ts'
import { useMessages } from '../../i18n/messages.ts'
import { plannerMessages } from './messages.ts'
import type { Demand } from './results.ts'

/** A Sunday, so that day n is weekday n. */
const sunday = new Date(2024, 0, 7, 12)

export function DemandMap({ demand }: { demand: Demand }) {
  const words = useMessages(plannerMessages)
  const format = useFormat()
  const name = new Intl.DateTimeFormat(format.language, { weekday: 'short' })
  const hours = [...new Set(demand.demand.map(each => each.hour))].sort((a, b) => a - b)
  const weekdays = [...new Set(demand.demand.map(each => each.weekday))].sort((a, b) => a - b)
  const most = Math.max(1, ...demand.demand.map(each => each.average))
  const at = (weekday: number, hour: number) =>
    demand.demand.find(each => each.weekday === weekday && each.hour === hour)?.average ?? 0
  const dayOf = (weekday: number) => new Date(sunday.getFullYear(), 0, 7 + weekday, 12)
  const day = (text: string) => format.date(new Date(`${text}T12:00:00`))
  return (
    <>
      <Card title={words.demand} hint={words.demandText(demand.visits, day(demand.from), day(demand.to))} flush>
        <div class="overflow-x-auto" tabIndex={0} role="region" aria-label={words.demand}>
          <table class="w-full text-right">
            <thead>
              <tr class="border-b text-sm text-muted">
                <th scope="col" class="h-9 px-4 text-left font-medium">
                  {words.weekday}
                </th>
                {hours.map(hour => (
                  <th key={hour} scope="col" class="px-2 font-medium">
                    {hour} h
                  </th>
                ))}
              </tr>
            </thead>
            <tbody>
              {weekdays.map(weekday => (
                <tr key={weekday} class="border-b last:border-b-0">
                  <th scope="row" class="h-9 px-4 text-left font-medium">
                    {name.format(dayOf(weekday))}
                  </th>
                  {hours.map(hour => (
                    <td key={hour} class="relative px-2">
                      <span
                        class="absolute inset-px rounded-sm bg-busy-fill"
                        style={{ opacity: 0.4 * (at(weekday, hour) / most) }}
                        aria-hidden="true"
                      />
                      <span class="relative">{format.number(at(weekday, hour), { maximumFractionDigits: 1 })}</span>
                    </td>
                  ))}
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </Card>
      {demand.dropped.rows > 0 && (
        <Card title={words.dropped(demand.dropped.rows)}>
          <ul class="flex flex-col gap-1">
            {demand.dropped.reasons.map(({ reason, rows, example }) => (
              <li key={reason}>
                {format.number(rows)}: {reason} <span class="text-muted">{example}</span>
              </li>
            ))}
          </ul>
        </Card>
      )}
    </>
  )
}
