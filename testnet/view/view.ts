import type { TestnetEvent } from '../runner/events.ts'

export interface View {
  handle(event: TestnetEvent): void
  /** Restores the terminal. May be called more than once. */
  close(): void
  readonly statusIntervalMs: number
}

/** The part of a stream that views use. */
export interface Output {
  write(text: string): unknown
}
