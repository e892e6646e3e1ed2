/**
 * A client whose types come from the API itself: `npm run generate` writes api.ts from its OpenAPI document, and a path, a
 * parameter or a field that is not there does not compile.
 *
 * RETOMA_URL=http://127.0.0.1:3000 RETOMA_TOKEN=… npm start
 */
import createClient from 'openapi-fetch'
import type { paths } from './api.ts'

const { RETOMA_URL: baseUrl = 'http://127.0.0.1:3000', RETOMA_TOKEN: token = '' } = process.env
const headers = { 'accept-language': 'en', ...(token ? { authorization: `Bearer ${token}` } : {}) }
const retoma = createClient<paths>({ baseUrl, headers })

const { data: made, error } = await retoma.POST('/api/v1/batches', {
  body: { name: 'letters', items: [{ n: 1 }, { n: 2 }], key: 'of today' },
})
if (error) throw new Error(error.error.message)
console.log(`submitted: ${made.total} items`)

const path = { id: made.id }
const { data: paused } = await retoma.POST('/api/v1/batches/{id}/pause', { params: { path } })
console.log(`paused: ${paused?.state}`)

const { data: items } = await retoma.GET('/api/v1/batches/{id}/items', {
  params: { path, query: { state: 'waiting', limit: 1 } },
})
console.log(`the first of them: ${JSON.stringify(items?.items[0]?.input)}; more: ${items?.next !== null}`)

const nothing = await retoma.GET('/api/v1/batches/{id}', { params: { path: { id: 'nothing' } } })
console.log(`${nothing.response.status}: ${nothing.error?.error.code}, ${nothing.error?.error.message}`)
