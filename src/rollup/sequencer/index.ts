export { type Conductor, noConductor } from './conductor.ts'
export { ConductorClient, type ConductorClientOptions, ConductorError } from './conductorClient.ts'
export { OriginError, OriginSelector, type OriginSelectorOptions, type OriginSource } from './originSelector.ts'
export {
  Sequencer,
  type SequencerAttributes,
  type SequencerEngine,
  SequencerError,
  type SequencerMetrics,
  type SequencerModules,
  type SequencerOptions,
  type SequencerOrigins,
} from './sequencer.ts'
