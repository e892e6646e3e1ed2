/** Retoma inside a Next.js app, below /retoma: its API, its events, its documentation at /retoma/api/docs. */
import { retoma } from '../../../retoma.ts'

export const runtime = 'nodejs'
export const dynamic = 'force-dynamic'

const handle = async (request: Request): Promise<Response> => (await retoma()).app.fetch(request)

export {
  handle as DELETE,
  handle as GET,
  handle as HEAD,
  handle as OPTIONS,
  handle as PATCH,
  handle as POST,
  handle as PUT,
}
