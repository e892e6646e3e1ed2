/** docs/api/retoma.md: the reference of `import … from 'retoma'`. */
import { apiPage } from '../lib/api-page.mjs'

export const file = 'docs/api/retoma.md'

export const print = () =>
  apiPage({
    entry: 'index.d.ts',
    name: 'retoma',
    opening:
      "Every name of `import … from 'retoma'`, with its options, defaults and examples. [Engine](../engine.md) gives the overview.",
  })
