/**
 * Defines the explanation routes of a job, a batch and a queue: GET, and also POST, because a page lists the explanation among the action
 * buttons.
 */
import { z } from 'zod'
import type { ErrorCode } from '../../errors/errors.ts'
import type { ExplainSubject } from '../../index.ts'
import { explanationWire } from '../../json-views.ts'
import { type Route, type RouteOptions, route } from '../route.ts'
import { hiddenKinds } from '../security/private-kinds.ts'
import { redactForRole } from '../security/redact-for-role.ts'

const explanation = z
  .object({
    verdict: z.string().meta({ description: 'ok, waiting, paused, starved, orphan, hung, stalled, poison …' }),
    sentence: z.string(),
    facts: z.record(z.string(), z.unknown()),
    advice: z.object({ action: z.string(), text: z.string(), command: z.string().nullable() }),
  })
  .meta({ id: 'Explanation' })

interface Asked<P extends z.ZodType>
  extends Pick<RouteOptions<P, z.ZodUndefined, z.ZodUndefined, z.ZodType>, 'path' | 'name' | 'tag' | 'summary'> {
  params: P
  unknown: ErrorCode
  target(params: z.output<P>): ExplainSubject
}

export const explainRoutes = <P extends z.ZodType>({ unknown, target, ...about }: Asked<P>): readonly Route[] =>
  (['get', 'post'] as const).map(method =>
    route({
      ...about,
      method,
      name: method === 'get' ? about.name : `${about.name}ByPost`,
      role: 'viewer',
      heavy: true,
      answer: explanation,
      errors: [unknown],
      async run({ engine, params, language, who }) {
        const options = { language, except: await hiddenKinds(engine, who) }
        return redactForRole(who, explanationWire(await engine.explain(target(params), options)))
      },
    }),
  )
