import type { TestnetEvent } from '../runner/events.ts'

/** Shows what happens. */
export interface View {
  handle(event: TestnetEvent): void
  /** Gives the terminal back; may be called more than once. */
  close(): void
  /** How often it wants to hear how things stand. */
  readonly statusIntervalMs: number
}

/** The part of a stream that views use. */
export interface Output {
  write(text: string): unknown
}
