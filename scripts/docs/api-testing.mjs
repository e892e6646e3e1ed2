/** docs/api/retoma-testing.md: the reference of `import … from 'retoma/testing'`. */
import { apiPage } from '../lib/api-page.mjs'

export const file = 'docs/api/retoma-testing.md'

export const print = () =>
  apiPage({
    entry: 'testing/index.d.ts',
    name: 'retoma/testing',
    opening:
      "Every name of `import … from 'retoma/testing'`, with its options and defaults. [Testing](../testing.md) gives the overview.",
  })
