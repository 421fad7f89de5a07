/** The errors of `@sessiond/client`, by the names that they have for agents. */
export {
  AccessError as SessiondAccessError,
  BusyError as SessionBusyError,
  ConflictError as AlreadyExistsError,
  GoneError as PositionGoneError,
  InputError as SessiondInputError,
  NotFoundError as SessionNotFoundError,
  SessiondError,
  StaleError as StaleSessionError,
} from "@sessiond/client";
