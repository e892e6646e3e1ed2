/** .env.example: the table of src/settings/settings-table.ts, in its order. */
export const file = '.env.example'

export async function print() {
  const { printExample } = await import('../../dist/settings/env-example.js')
  return printExample()
}
