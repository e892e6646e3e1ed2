/** The name of the product with its mark. */
export const Logo = () => (
  <span class="flex items-center gap-2 text-md font-semibold tracking-tight">
    <svg viewBox="0 0 32 32" width="20" height="20" aria-hidden="true">
      <rect width="32" height="32" rx="7" class="fill-accent-fill" />
      <path d="M22.5 11.5A8 8 0 1 0 24 16" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round" />
      <path
        d="M23.5 6v6h-6"
        fill="none"
        stroke="#fff"
        stroke-width="3"
        stroke-linecap="round"
        stroke-linejoin="round"
      />
    </svg>
    Retoma
  </span>
)
