# needs: all
sessiond
command python3 - <<'END'
import asyncio, shutil, sqlite3
from google.adk.events import Event
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas import v0
from google.genai.types import Content, FunctionResponse, Part
from sqlalchemy import create_engine

async def main():
    sessions = DatabaseSessionService("sqlite+aiosqlite:///agents.db")
    session = await sessions.create_session(app_name="shop", user_id="ada", session_id="s1")
    said = Content(parts=[Part(function_response=FunctionResponse(name="f", response={"text": "HALF"}))])
    await sessions.append_event(session, Event(id="e7", author="agent", invocation_id="i", content=said))
    await sessions.close()

asyncio.run(main())
shutil.copy("agents.db", "half.db")
db = sqlite3.connect("half.db")
db.execute(r"update events set event_data = replace(event_data, 'HALF', '\ud83d')")
db.commit()
v0.Base.metadata.create_all(create_engine("sqlite:///old.db"))
END
adk() { command python3 -m google.adk.cli "$@"; }
# The address of the page is the default.
python3() {
    case "$*" in *--to*) ;; *) set -- "$@" --to http://127.0.0.1:8080 ;; esac
    command python3 "$@"
}
<<< docs/import.md: --dry-run
stop
rm sessiond.db*
sessiond
python3 -m sessiond_adk_import --from sqlite:///half.db --replace 2>/dev/null >>> docs/import.md: half a character
<<< docs/import.md: adk migrate session
