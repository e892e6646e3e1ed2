/** The filters of the list of jobs. Each change is in the address at once. */
import { Search, X } from 'lucide-react'
import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { useApi } from '../../api/query.ts'
import { Badge } from '../../components/badge.tsx'
import { Button, IconButton } from '../../components/button.tsx'
import { Input, Select } from '../../components/field.tsx'
import { useMessages } from '../../i18n/messages.ts'
import { stateMessages } from '../../i18n/states.ts'
import { serverNow } from '../../lib/now.ts'
import { type FilterName, type JobFilter, type SearchField, searchFields } from './job-filter.ts'
import { jobStates } from './job-model.ts'
import { jobMessages } from './messages.ts'

interface FilterBarProps {
  filter: JobFilter
  onChange(change: Partial<Record<FilterName, string | undefined>>): void
}

export function FilterBar({ filter, onChange }: FilterBarProps) {
  const words = useMessages(jobMessages)
  const states = useMessages(stateMessages)
  const { data: stats } = useApi('GET /api/v1/stats')
  const kinds = [...new Set([...(stats?.kinds ?? []).map(each => each.kind), ...given(filter.kind)])].sort()
  const queues = [...new Set([...(stats?.queues ?? []).map(each => each.queue), ...given(filter.queue)])].sort()
  const marks = (['group', 'batch', 'worker'] as const).flatMap(name => {
    const value = filter[name]
    return value === undefined ? [] : [{ name, text: `${words[name]} ${value}` }]
  })
  return (
    <div class="mb-3 flex flex-wrap items-center gap-2">
      <SearchForm filter={filter} onChange={onChange} />
      <div class="w-38 max-sm:flex-1 max-sm:basis-[45%]">
        <Select
          label={words.state}
          hideLabel
          value={filter.state ?? ''}
          onSelect={state => onChange({ state })}
          options={[
            { value: '', label: words.anyState },
            ...jobStates.map(state => ({ value: state, label: states[state] })),
          ]}
        />
      </div>
      <div class="w-40 max-sm:flex-1 max-sm:basis-[45%]">
        <Select
          label={words.kind}
          hideLabel
          value={filter.kind ?? ''}
          onSelect={kind => onChange({ kind })}
          options={[{ value: '', label: words.anyKind }, ...kinds.map(each => ({ value: each, label: each }))]}
        />
      </div>
      <div class="w-38 max-sm:flex-1 max-sm:basis-[45%]">
        <Select
          label={words.queue}
          hideLabel
          value={filter.queue ?? ''}
          onSelect={queue => onChange({ queue })}
          options={[{ value: '', label: words.anyQueue }, ...queues.map(each => ({ value: each, label: each }))]}
        />
      </div>
      <CreatedFilter filter={filter} onChange={onChange} />
      {marks.map(({ name, text }) => (
        <button
          key={name}
          type="button"
          aria-label={`${words.clear}: ${text}`}
          onClick={() => onChange({ [name]: undefined })}
        >
          <Badge tone="accent" icon={X}>
            {text}
          </Badge>
        </button>
      ))}
      {Object.keys(filter).length > 0 && (
        <Button
          look="quiet"
          icon={X}
          onClick={() => onChange(Object.fromEntries(Object.keys(filter).map(name => [name, undefined])))}
        >
          {words.clear}
        </Button>
      )}
    </div>
  )
}

const hoursOf = { hour: 1, day: 24, week: 7 * 24 } as const
type Period = keyof typeof hoursOf | 'any' | 'between'

/** The local time as an input of the browser has it: 2026-11-18T04:00. */
function localTime(instant: number): string {
  const date = new Date(instant)
  return new Date(instant - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16)
}

/** A period by one choice; the two instants are shown once one of them is part of the filter. */
function CreatedFilter({ filter, onChange }: FilterBarProps) {
  const words = useMessages(jobMessages)
  const hasTimes = filter.after !== undefined || filter.before !== undefined
  const [chosen, setChosen] = useState<Period>(hasTimes ? 'between' : 'any')
  const period = hasTimes ? (chosen === 'any' ? 'between' : chosen) : chosen === 'between' ? 'between' : 'any'
  const choose = (next: Period) => {
    setChosen(next)
    if (next === 'any') onChange({ after: undefined, before: undefined })
    else if (next !== 'between')
      onChange({ after: localTime(serverNow() - hoursOf[next] * 3_600_000), before: undefined })
  }
  return (
    <>
      <div class="w-52 max-sm:flex-1 max-sm:basis-[45%]">
        <Select
          label={words.created}
          hideLabel
          value={period}
          onSelect={value => choose(value as Period)}
          options={[
            { value: 'any', label: words.anyTime },
            { value: 'hour', label: words.lastHour },
            { value: 'day', label: words.lastDay },
            { value: 'week', label: words.lastWeek },
            { value: 'between', label: words.chooseTime },
          ]}
        />
      </div>
      {period === 'between' && (
        <>
          <Instant label={words.createdAfter} value={filter.after} onSelect={after => onChange({ after })} />
          <Instant label={words.createdBefore} value={filter.before} onSelect={before => onChange({ before })} />
        </>
      )}
    </>
  )
}

interface InstantProps {
  label: string
  value: string | undefined
  onSelect(value: string): void
}

function Instant({ label, value, onSelect }: InstantProps) {
  return (
    <label class="flex items-center gap-2 text-sm text-muted max-sm:w-full">
      <span class="whitespace-nowrap max-sm:w-8">{label}</span>
      <input
        type="datetime-local"
        class="h-8 min-w-0 flex-1 rounded-md border border-line-strong bg-surface px-2 text-base text-ink"
        value={value ?? ''}
        onBlur={event => event.currentTarget.value !== (value ?? '') && onSelect(event.currentTarget.value)}
        onKeyDown={event => event.key === 'Enter' && onSelect(event.currentTarget.value)}
      />
    </label>
  )
}

const given = (text: string | undefined): string[] => (text === undefined ? [] : [text])

function SearchForm({ filter, onChange }: FilterBarProps) {
  const words = useMessages(jobMessages)
  const [, navigate] = useLocation()
  const known = searchFields.find(each => each !== 'id' && filter[each] !== undefined)
  const [field, setField] = useState<SearchField>(known ?? 'ref')
  const current = field === 'id' ? '' : (filter[field] ?? '')
  const [text, setText] = useState(current)
  useEffect(() => setText(current), [current])
  const search = () => {
    const wanted = text.trim()
    if (field === 'id') {
      if (wanted !== '') navigate(`/jobs/${encodeURIComponent(wanted.replace(/^#/, ''))}`)
      return
    }
    const others = Object.fromEntries(searchFields.filter(each => each !== 'id').map(each => [each, undefined]))
    onChange({ ...others, [field]: wanted })
  }
  return (
    <form
      class="flex min-w-60 flex-1 gap-1 max-sm:basis-full sm:max-w-sm"
      role="search"
      onSubmit={event => {
        event.preventDefault()
        search()
      }}
    >
      <div class="w-24 shrink-0">
        <Select
          label={words.searchBy}
          hideLabel
          value={field}
          onSelect={value => setField(value as SearchField)}
          options={searchFields.map(each => ({ value: each, label: words[each] }))}
        />
      </div>
      <div class="min-w-0 flex-1">
        <Input
          label={words.searchText}
          hideLabel
          type="search"
          placeholder={words.searchHint[field]}
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
      </div>
      <IconButton icon={Search} label={words.searchBy} look="secondary" type="submit" />
    </form>
  )
}
