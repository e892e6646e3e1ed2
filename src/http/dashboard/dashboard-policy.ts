/**
 * The content security policy of the dashboard: only files of the own origin, no inline script or style. `blob:` shows a file that the
 * user has chosen before the upload. Scripts carry the policy too: a shared worker is bound by the policy of its own file.
 */
export const dashboardPolicy: string = [
  "default-src 'none'",
  "script-src 'self'",
  "worker-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ')
