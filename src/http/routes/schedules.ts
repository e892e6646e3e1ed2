/** Routes of schedules: list the schedules, their next times and last jobs; pause, resume and run a schedule. */

import { z } from 'zod'
import type { Engine, StoredResponse } from '../../engine/create-engine.ts'
import { internalsOf } from '../../engine/internals.ts'
import type { ScheduleView } from '../../index.ts'
import { jobWire, scheduleWire } from '../../json-views.ts'
import { recurrenceWords } from '../../schedules/model/recurrence-words.ts'
import { answerExactly } from '../request/idempotency-key.ts'
import { paged } from '../response/page-of-list.ts'
import { type Route, route } from '../route.ts'
import { hiddenKinds } from '../security/private-kinds.ts'
import { redactForRole } from '../security/redact-for-role.ts'
import { instant, pageOf, pageQuery } from '../shared-schemas.ts'
import { job } from './jobs/job-schemas.ts'

const schedule = z
  .object({
    name: z.string(),
    kind: z.string(),
    cron: z.string().optional(),
    time_zone: z.string().optional(),
    every_ms: z.number().optional(),
    words: z.string().meta({ description: 'its recurrence in words' }),
    catch_up: z.unknown(),
    next_at: instant,
    last_occurrence: instant.nullable(),
    last_at: instant.nullable(),
    last_job: z.string().nullable(),
    active: z
      .boolean()
      .meta({ description: 'a process defines this schedule; without such a process no occurrence enqueues a job' }),
    paused: z.boolean().meta({ description: 'the occurrences pass without a job' }),
  })
  .meta({ id: 'Schedule' })

type Fired = Awaited<ReturnType<Engine['schedules']['run']>>

const pauseRoute = (action: 'pause' | 'resume', name: string, summary: string): Route =>
  route({
    method: 'post',
    path: `/api/v1/schedules/{name}/${action}`,
    name,
    tag: 'schedules',
    summary,
    role: 'operator',
    params: z.object({ name: z.string() }),
    answer: z.object({ name: z.string(), paused: z.boolean(), changed: z.boolean() }),
    errors: ['unknown_schedule'],
    run: ({ engine, params, who }) => engine.schedules[action](params.name, { by: who.user }),
  })

export const scheduleRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/v1/schedules',
    name: 'listSchedules',
    tag: 'schedules',
    summary: 'Lists the schedules by name, with recurrence, next occurrence and last job',
    role: 'viewer',
    query: z.strictObject(pageQuery),
    answer: pageOf(schedule),
    async run({ engine, query, language, who }) {
      const { items, next } = paged(await engine.schedules.list(), each => each.name, query)
      const hidden = await hiddenKinds(engine, who)
      const wire = (each: ScheduleView) => ({
        ...scheduleWire(hidden.includes(each.kind) ? { ...each, lastJob: null } : each),
        words: recurrenceWords(each.recurrence)[language],
      })
      return { items: items.map(wire), next }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/schedules/{name}/occurrences',
    name: 'listOccurrences',
    tag: 'schedules',
    summary: 'Gets the next occurrences of a schedule, and the recurrence in words',
    role: 'viewer',
    params: z.object({ name: z.string() }),
    query: z.strictObject({ count: z.coerce.number().int().min(1).max(100).default(10) }),
    answer: z.object({
      name: z.string(),
      words: z.string(),
      time_zone: z.string().nullable(),
      items: z.array(instant),
      next: z.null(),
    }),
    errors: ['unknown_schedule'],
    async run({ engine, params, query, language }) {
      const { name, words, recurrence, times } = await engine.schedules.occurrences(params.name, query)
      const timeZone = 'timeZone' in recurrence ? recurrence.timeZone : null
      return { name, words: words[language], time_zone: timeZone, items: times, next: null }
    },
  }),
  route({
    method: 'get',
    path: '/api/v1/schedules/{name}/runs',
    name: 'listScheduleRuns',
    tag: 'schedules',
    summary: 'Lists the last ten jobs of a schedule, by recurrence or by hand, the newest first',
    role: 'viewer',
    params: z.object({ name: z.string() }),
    answer: z.object({ items: z.array(job), next: z.null() }),
    errors: ['unknown_schedule'],
    async run({ engine, params, who }) {
      const runs = await internalsOf(engine).scheduleRuns(params.name)
      const hidden = await hiddenKinds(engine, who)
      const shown = runs.filter(({ kind }) => !hidden.includes(kind))
      return { items: redactForRole(who, shown.map(jobWire)), next: null }
    },
  }),
  pauseRoute('pause', 'pauseSchedule', 'Pauses a schedule: its occurrences pass without a job, in every process'),
  pauseRoute(
    'resume',
    'resumeSchedule',
    'Resumes a paused schedule with the next occurrence; missed occurrences stay missed',
  ),
  route({
    method: 'post',
    path: '/api/v1/schedules/{name}/run',
    name: 'runSchedule',
    tag: 'schedules',
    summary: 'Enqueues the job of a schedule now; the next occurrence stays',
    role: 'operator',
    params: z.object({ name: z.string() }),
    answer: z.object({ id: z.string(), created: z.boolean() }),
    status: 201,
    makes: 'exactly',
    errors: ['unknown_schedule', 'queue_full', 'key_locked'],
    async run({ engine, params: { name }, who, once, headers }) {
      const by = { by: who.user }
      if (once === undefined) return engine.schedules.run(name, by)
      const make = (keep: (made: Fired) => StoredResponse) => internalsOf(engine).runScheduleOnce(name, once, keep, by)
      return answerExactly(headers, make, made => made)
    },
  }),
]
