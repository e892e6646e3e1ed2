/** Finds secrets: by the name of a fact, or within a text, such as an address quoted by an error. */

const words =
  'password|passwd|pwd|secret|token|authorization|cookie|api[-_]?key|access[-_]?key|signature|database[-_]?url|connection[-_]?string'
const whole = new RegExp(`^(?:.*[-_])?(?:${words})$`, 'i')
const camelCase = /[a-z0-9](?:Password|Secret|Token|Authorization|Cookie|ApiKey|AccessKey|Signature|DatabaseUrl)$/

export const isSecretName = (name: string): boolean => whole.test(name) || camelCase.test(name)

const inQuery = new RegExp(`([?&](?:[\\w.~-]*[-_])?(?:${words}|key|sig)=)[^&#\\s"'\`<>]+`, 'gi')
const scheme = /\b(bearer)\s+[\w.~+/=-]{6,}/gi
const ours = /\brt_[\w-]{20,}/g
// Begins at `://`, not at the scheme: a scheme may begin at every letter of a long text.
const userInUrl = /(:\/\/[^\s/:@"']*):[^\s/@"']+@/g

/** The same text with … in place of query values with secret names, of credentials and of Retoma's own tokens. */
export const withoutSecrets = (text: string): string =>
  text.replace(inQuery, '$1…').replace(scheme, '$1 …').replace(ours, 'rt_…').replace(userInUrl, '$1:…@')
