/** What prom-client's timer waits for, which its figure has in it. */
export const LAG_TIMER_MS = 10
