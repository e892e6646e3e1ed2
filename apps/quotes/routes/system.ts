/** Reports and repairs the processing of quotes, in the seed's words: /api/system. */
import { type Route, route } from 'retoma/http'
import { z } from 'zod'

const tag = 'Quotes: system'

export const systemRoutes: readonly Route[] = [
  route({
    method: 'get',
    path: '/api/system/health',
    name: 'quotesHealth',
    tag,
    summary: 'That the server answers',
    role: 'open',
    answer: z.object({ status: z.literal('ok') }),
    run: () => ({ status: 'ok' }),
  }),
]
