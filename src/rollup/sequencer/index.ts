export { OriginError, OriginSelector, type OriginSelectorOptions, type OriginSource } from './originSelector.ts'
export {
  Sequencer,
  type SequencerAttributes,
  type SequencerEngine,
  SequencerError,
  type SequencerModules,
  type SequencerOptions,
  type SequencerOrigins,
} from './sequencer.ts'
