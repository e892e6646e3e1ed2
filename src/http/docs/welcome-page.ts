/** The page at `/` until the dashboard exists: shows that Retoma runs, and the next commands. The page shows no data. */
import type { Language } from '../../errors/errors.ts'
import { version } from '../../version.ts'
import { pagePolicy } from '../security/security-headers.ts'

const words = {
  pt: {
    running: 'O Retoma está no ar',
    next: 'Para enfileirar um job, ver o que aconteceu com ele e o que há nas filas:',
    own: 'Os jobs são os do seu retoma.config.ts; retoma init escreve um.',
  },
  en: {
    running: 'Retoma is running',
    next: 'To enqueue a job, see what became of it and what is in the queues:',
    own: 'The jobs are those of your retoma.config.ts; retoma init writes one.',
  },
}

const style = `
  :root { color-scheme: light dark }
  body { font: 16px/1.5 system-ui, sans-serif; max-width: 44rem; margin: 3rem auto; padding: 0 1rem }
  pre { background: #8882; padding: .8rem 1rem; border-radius: .4rem; overflow-x: auto }
  small { opacity: .7 }
`

export const welcomePolicy = pagePolicy({ styles: [style] })

export function welcomePage(language: Language): string {
  const word = words[language]
  return `<!doctype html>
<html lang="${language === 'pt' ? 'pt-BR' : 'en'}">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>Retoma</title>
<style>${style}</style>
<h1>${word.running}</h1>
<p>${word.next}</p>
<pre>npx retoma jobs enqueue hello '{"name":"Ana"}' --wait
npx retoma jobs list
npx retoma status</pre>
<p>${word.own}</p>
<p><small>retoma ${version}</small></p>
`
}
