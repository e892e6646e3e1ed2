/** .env.example: the table of src/settings/settings-table.ts, then the tables of the systems in apps/, in their order. */

export const file = '.env.example'

export async function print() {
  const { printExample } = await import('../../dist/settings/env-example.js')
  const { settings: classifier } = await import('../../apps/classifier/dist/settings.js')
  const { settings: quotes } = await import('../../apps/quotes/dist/settings.js')
  const { settings: documents } = await import('../../apps/documents/dist/settings.js')
  const { settings: snaps } = await import('../../apps/snaps/dist/settings.js')
  const { settings: planner } = await import('../../apps/planner/dist/settings.js')
  return printExample({
    'Of the document classifier (apps/classifier)': classifier,
    'Of the price quotes (apps/quotes)': quotes,
    'Of the documents (apps/documents)': documents,
    'Of the snaps (apps/snaps)': snaps,
    'Of the planner (apps/planner)': planner,
  })
}
