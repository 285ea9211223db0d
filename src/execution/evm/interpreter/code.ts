import { bytesToWord, type Word } from './word.ts'

/** A program, with what the loop wants to know of it, found out when it is first needed. */
export class Program {
  readonly code: Uint8Array
  private destinations: Uint8Array | undefined
  private pushes: (Word | undefined)[] | undefined

  constructor(code: Uint8Array) {
    this.code = code
  }

  /** 1 where a JUMPDEST stands that is no push data. */
  get jumpDestinations(): Uint8Array {
    this.destinations ??= findJumpDestinations(this.code)
    return this.destinations
  }

  /** The word of the PUSH of so many bytes that stands there; past the end of the code stand zeros. */
  pushed(pc: number, length: number): Word {
    this.pushes ??= new Array<Word | undefined>(this.code.length)
    let word = this.pushes[pc]
    if (word === undefined) {
      const bytes = new Uint8Array(length)
      bytes.set(this.code.subarray(pc + 1, pc + 1 + length))
      word = bytesToWord(bytes)
      this.pushes[pc] = word
    }
    return word
  }
}

/** Code objects are shared by the state's cache, so that each program is read once as long as it is in use. */
const programs = new WeakMap<Uint8Array, Program>()

export function programOf(code: Uint8Array): Program {
  let program = programs.get(code)
  if (program === undefined) {
    program = new Program(code)
    programs.set(code, program)
  }
  return program
}

function findJumpDestinations(code: Uint8Array): Uint8Array {
  const destinations = new Uint8Array(code.length)
  for (let pc = 0; pc < code.length; pc++) {
    const opcode = code[pc] ?? 0
    if (opcode === 0x5b) destinations[pc] = 1
    else if (opcode >= 0x60 && opcode <= 0x7f) pc += opcode - 0x5f
  }
  return destinations
}
