/** docs/api/retoma-http.md: the reference of `import … from 'retoma/http'`. */
import { apiPage } from '../lib/api-page.mjs'

export const file = 'docs/api/retoma-http.md'

export const print = () =>
  apiPage({
    entry: 'http/index.d.ts',
    name: 'retoma/http',
    opening:
      "Every name of `import … from 'retoma/http'`, with its options and defaults. [HTTP API](../http-api.md) gives the overview.",
  })
