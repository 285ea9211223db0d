import type { Ending, StoppedProgram } from './stoppedProgram.ts'
import type { World } from './world.ts'

/** What a program may be at when it is told to stop. */
export interface StopState {
  state: string
  /** Starts a program and waits until it is there. */
  reach(world: World): Promise<{ program: StoppedProgram }>
  /** How it is to end; default: with exit code 0. */
  ending?: Partial<Pick<Ending, 'code' | 'signal'>>
  /** Writes no log. */
  isMute?: boolean
}
