import { bytesToWord, type Word } from './word.ts'

/** What the loop wants to know of a program before running it. */
export interface Program {
  code: Uint8Array
  /** 1 where a JUMPDEST stands that is no push data. */
  jumpDestinations: Uint8Array
  /** Pushed words by the position of their PUSH. */
  pushes: (Word | undefined)[]
}

/** Code objects are shared by the state's cache, so that each program is read once as long as it is in use. */
const programs = new WeakMap<Uint8Array, Program>()

export function programOf(code: Uint8Array): Program {
  let program = programs.get(code)
  if (program === undefined) {
    program = analyse(code)
    programs.set(code, program)
  }
  return program
}

function analyse(code: Uint8Array): Program {
  const jumpDestinations = new Uint8Array(code.length)
  const pushes = new Array<Word | undefined>(code.length)
  for (let pc = 0; pc < code.length; pc++) {
    const opcode = code[pc] ?? 0
    if (opcode === 0x5b) jumpDestinations[pc] = 1
    else if (opcode >= 0x60 && opcode <= 0x7f) {
      const length = opcode - 0x5f
      let data = code.subarray(pc + 1, pc + 1 + length)
      if (data.length < length) {
        // Past the end of the code stand zeros.
        const padded = new Uint8Array(length)
        padded.set(data)
        data = padded
      }
      pushes[pc] = bytesToWord(data)
      pc += length
    }
  }
  return { code, jumpDestinations, pushes }
}
